"""Code pages of the Latin script are distinguished by the frequency of letters. These texts were not counted for it."""

import pytest

from eyespan.lines.detect import detect
from eyespan.lines.latin import likeliest

TEXTS = {
    "cp1254": "Sabahları erken kalkıp limana kadar yürürdük. Balıkçılar ağlarını çoktan toplamış, çaylarını içiyor "
    "olurlardı; gemilerin düdükleri şehrin üstünde uzun uzun yankılanırdı.",
    "cp1250 cs": "Každé ráno jsme chodili k přístavu, kde rybáři už dávno vytáhli sítě a pili čaj. Nad městem se "
    "rozléhalo houkání lodí a děti běžely dolů po schodech, aby něco nezmeškaly.",
    "cp1250 hu": "Minden reggel korán keltünk, és lesétáltunk a kikötőig. A halászok addigra régen összeszedték a "
    "hálóikat, és teát ittak; a hajók kürtje hosszan visszhangzott a város fölött.",
    "cp1250 ro": "În fiecare dimineaţă ne trezeam devreme şi mergeam până în port. Pescarii îşi strânseseră de mult "
    "plasele şi beau ceai, iar sirenele vapoarelor răsunau îndelung deasupra oraşului.",
    "cp1250 pl": "Każdego ranka wstawaliśmy wcześnie i szliśmy aż do portu. Rybacy już dawno ściągnęli sieci i pili "
    "herbatę, a syreny statków długo niosły się nad miastem.",
    "cp1257": "Kiekvieną rytą keldavomės anksti ir eidavome iki uosto. Žvejai jau seniai būdavo susirinkę tinklus ir "
    "gerdavo arbatą, o laivų sirenos ilgai aidėdavo virš miesto.",
    "cp1252 fr": "Chaque matin nous nous levions tôt et nous allions à pied jusqu'au port. Les pêcheurs avaient déjà "
    "ramassé leurs filets et buvaient du thé ; la sirène des bateaux résonnait longtemps.",
    "cp1252 de": "Jeden Morgen standen wir früh auf und gingen zu Fuß bis zum Hafen. Die Fischer hatten ihre Netze "
    "längst eingeholt und tranken Tee; über der Stadt hörte man die Schiffe.",
    "cp1252 pt": "Todas as manhãs levantávamo-nos cedo e caminhávamos até ao porto. Os pescadores já tinham recolhido "
    "as redes e bebiam chá; a sirene dos navios não parava de ecoar na povoação.",
    "cp1252 fi": "Heräsimme joka aamu varhain ja kävelimme satamaan asti. Kalastajat olivat jo aikaa sitten keränneet "
    "verkkonsa ja joivat teetä; laivojen ääni kaikui pitkään kaupungin yllä.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_in_its_code_page(name):
    page = name.split()[0]
    found = detect(TEXTS[name].encode(page))

    assert TEXTS[name].encode(page).decode(found.name) == TEXTS[name]
    assert 0.5 < found.confidence <= 1


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Каждое утро мы вставали рано и шли пешком до самого порта, где рыбаки уже пили чай.", "cp1251"),
        ("Каждое утро мы вставали рано и шли пешком до самого порта, где рыбаки уже пили чай.", "koi8-r"),
        ("Κάθε πρωί ξυπνούσαμε νωρίς και περπατούσαμε ως το λιμάνι, όπου οι ψαράδες έπιναν τσάι.", "cp1253"),
        ("毎朝早く起きて港まで歩いた。漁師たちはもう網を上げて、お茶を飲んでいた。", "cp932"),
        ("我们每天早上很早起床，步行到港口，渔民们早已收好了网，正在喝茶。", "gb18030"),
    ],
)
def test_other_scripts_are_no_such_text(text, encoding):
    assert likeliest(text.encode(encoding)) is None


@pytest.mark.parametrize(
    "text",
    [
        "plain “quotes” – and dashes, it’s fine…\n" * 9,
        "temp;25 °C\ntemp;26 °C\n" * 9,
        "price;£5\nprice;£7\n" * 9,
        "1½ cups, ¼ tsp, 3 m², 5 µm\n" * 9,
        "© 2024 Müller & Söhne GmbH\n® § 5 ± 2 µm\n" * 3,
        "name;city;price\nMüller;Köln;5 €\nGarcía;Málaga;7 €\nFrançois;Orléans;9 €\n",
        "Größe: 5 °C – naïve café\n" * 20,
    ],
)
def test_western_text_between_ascii_is_read_in_the_common_code_page(text):
    assert text.encode("cp1252").decode(detect(text.encode("cp1252")).name) == text


def test_a_sign_between_letters_is_a_letter_of_another_code_page():
    text = "Uspešnih zgodb je več, našla je službo in možnosti.\n" * 9

    assert text.encode("iso8859-2").decode(detect(text.encode("iso8859-2")).name) == text


@pytest.mark.parametrize(("letter", "share"), [("ż", 1.0), ("ř", 11 / 14)])
def test_the_share_counts_the_letters_that_the_language_has(letter, share):
    text = TEXTS["cp1250 pl"].replace("ż", letter)

    assert likeliest(text.encode("cp1250")) == ("cp1250", pytest.approx(share))
